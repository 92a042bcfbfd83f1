import { randomBytes } from 'node:crypto';
import type { JsonObject } from '../../contracts/json.js';
import { canonicalJson } from '../crypto/digest.js';

/** Characters that nobody sees, and the start of what servers take for the end of a turn (`<|im_end|>`, `</s>`, `[/INST]`). */
const ESCAPED = /[\p{Cf}\p{Cc}\p{Co}\u2028\u2029<]|\[(?=\/?(?:INST|SYS)\])/gu;

const escaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');

/**
 * What is judged, as the only content of the user's message: JSON in one line between two lines of a random marker. It means the same as the
 * request, and no text in it can end the line, be invisible, or look like the marker.
 */
export function evidenceText(
  document: JsonObject,
  random: () => string = () => randomBytes(16).toString('hex'),
): string {
  const line = canonicalJson(document).replaceAll(ESCAPED, escaped);
  let marker = random();
  while (line.includes(marker)) marker = random();
  return `----- ${marker} -----\n${line}\n----- ${marker} -----`;
}
