import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonObject } from '../../contracts/json.js';
import type { PolicyFault } from './compiler.js';

/** What speaks against parameters, by their JSON Schema (2020-12); null where nothing does. The schema is one that ships. */
export function parameterFault(schema: JsonObject, value: unknown): PolicyFault | null {
  const validate = new Ajv2020({ strict: true }).compile(schema);
  if (validate(value)) return null;
  const [first] = validate.errors ?? [];
  const pointer = first?.instancePath ?? '';
  const unknown = first?.keyword === 'additionalProperties' ? ` (${String(first.params['additionalProperty'])})` : '';
  const message = `${pointer || 'the document'} ${first?.message ?? 'is not valid'}${unknown}`;
  return { message, pointer, file: null, line: null, column: null };
}
