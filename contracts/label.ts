import { z } from 'zod';

/** A part of a SPIFFE id, as the names of tenants and agents are. */
export const label = z.string().regex(/^(?!\.{1,2}$)[A-Za-z0-9._-]{1,63}$/, 'must be a label of a SPIFFE id');
