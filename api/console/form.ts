import { GateError } from '../../domain/errors.js';
import { oneLine } from '../../domain/printable.js';
import type { Form, WrittenFields } from '../../console/visit.js';

/** The fields of a form that was sent, and which of them people write into it. */
export function formOf(body: unknown, fieldsWritten: WrittenFields = {}): Form {
  const fields = (body ?? {}) as Readonly<Record<string, unknown>>;
  const all = (field: string): readonly string[] =>
    Object.hasOwn(fields, field) ? [fields[field]].flat().filter((value) => typeof value === 'string') : [];
  const get = (field: string): string => all(field)[0] ?? '';
  const names = (): readonly string[] => Object.keys(fields);
  return {
    all,
    get,
    names,
    written: () =>
      names().flatMap((name) => {
        const label = labelOf(name, fieldsWritten);
        const text = get(name);
        return label === undefined || text.trim() === '' ? [] : [{ name, label, text }];
      }),
  };
}

/** Throws `invalid_request` with a field that stands twice in a form and says one thing only. */
export function assertOnce(form: Form, several: readonly string[] = []): void {
  const twice = form.names().find((name) => !several.includes(name) && form.all(name).length > 1);
  if (twice !== undefined)
    throw new GateError('invalid_request', `${oneLine(twice)}: stands twice in the form. Nothing was done`);
}

/** What a field is called into which people write; `undefined` for any other one. */
export function labelOf(name: string, written: WrittenFields): string | undefined {
  if (Object.hasOwn(written, name)) return written[name];
  return Object.entries(written).find(([key]) => key.endsWith('.*') && name.startsWith(key.slice(0, -1)))?.[1];
}
