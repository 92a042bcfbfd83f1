import type { ComponentChildren } from 'preact';
import { callAddress } from './addresses.js';

/** Leads to the page of a call, where it has an id that one can be asked by. */
export const CallLink = ({ id, children }: { readonly id: string | null; readonly children: ComponentChildren }) =>
  id === null ? <>{children}</> : <a href={callAddress(id)}>{children}</a>;
