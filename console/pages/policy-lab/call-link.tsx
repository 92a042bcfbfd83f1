import { escapedInPath } from '../../../domain/name-in-path.js';
import type { ComponentChildren } from 'preact';

/** Leads to the page of a call, where it has an id that one can be asked by. */
export const CallLink = ({ id, children }: { readonly id: string | null; readonly children: ComponentChildren }) =>
  id === null ? <>{children}</> : <a href={`/audit/correlation/${escapedInPath(id)}`}>{children}</a>;
