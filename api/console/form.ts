import type { Form } from '../../console/visit.js';

/** The fields of a form that was sent. */
export function formOf(body: unknown): Form {
  const fields = (body ?? {}) as Readonly<Record<string, unknown>>;
  const all = (field: string): readonly string[] =>
    Object.hasOwn(fields, field) ? [fields[field]].flat().filter((value) => typeof value === 'string') : [];
  return { all, get: (field) => all(field)[0] ?? '', names: () => Object.keys(fields) };
}
