import { isStorable } from '../../contracts/storable.js';
import { GateError } from '../errors.js';

/** What is shown, signed and recorded must be what was sent. Throws `invalid_request` naming the field. */
export function storable<Text extends string | null>(field: string, text: Text): Text {
  if (text !== null && !isStorable(text))
    throw new GateError('invalid_request', `${field}: holds a character no store keeps`);
  return text;
}
