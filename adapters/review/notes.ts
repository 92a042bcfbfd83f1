import { isDeepStrictEqual } from 'node:util';
import { GateError } from '../../domain/errors.js';
import type { ReviewNotes } from '../../domain/review/ports.js';
import type { Annotations } from '../../domain/review/review-view.js';
import { untilUnchanged } from './faults.js';
import type { ReviewRows } from './rows.js';

/** What people note on a row. */
export const reviewNotes = ({ stored, change, check, views }: ReviewRows): ReviewNotes => ({
  note: (id, tenant, write) =>
    untilUnchanged('the review', async () => {
      const row = await stored('id', id.toLowerCase());
      if (!row || (tenant !== undefined && row.tenant !== tenant)) throw new GateError('not_found');
      const known = await check.held(row);
      if (known.withdrawn_at !== null) throw new GateError('not_found');
      const shown = views.anyway(known);
      const told = JSON.parse(known.annotations) as Annotations;
      const noted: Annotations = { ...told, ...write(shown) };
      if (isDeepStrictEqual(noted, told)) return { done: shown };
      const to = { annotations: JSON.stringify(noted) };
      return (await change(known, to)) ? { done: views.anyway({ ...known, ...to }) } : null;
    }),
});
