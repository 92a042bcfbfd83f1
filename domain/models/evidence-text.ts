import { randomBytes } from 'node:crypto';
import type { JsonObject } from '../../contracts/json.js';
import { canonicalJson } from '../crypto/digest.js';

/**
 * Characters that nobody sees (variation selectors and fillers too, which are letters and marks by their class), and the start of what servers
 * take for the end of a turn or for a tool's own words (`<|im_end|>`, `</s>`, `[/INST]`, `[TOOL_RESULTS]`).
 */
const ESCAPED =
  /[\p{Cf}\p{Cc}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2028\u2029<]|\[(?=\/?(?:INST|SYS|SYSTEM_PROMPT|MODEL_SETTINGS|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|THINK|ARGS|CALL_ID)\])/gu;

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
