import { GateError } from '../errors.js';

/**
 * Text that every store keeps as it is: SQLite cuts it at U+0000, Postgres refuses that, and a lone surrogate is no UTF-8. What is
 * shown, signed and recorded must be what was sent. Throws `invalid_request` naming the field.
 */
export function storable<Text extends string | null>(field: string, text: Text): Text {
  if (text !== null && /\0|\p{Surrogate}/u.test(text))
    throw new GateError('invalid_request', `${field}: holds a character no store keeps`);
  return text;
}
