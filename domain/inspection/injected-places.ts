import type { InjectedPlace } from '../../contracts/inspection.js';
import type { Json, JsonObject } from '../../contracts/json.js';
import { detectInjectionByBoth } from './injection.js';
import { type HeuristicLevel, inspectTexts } from './texts.js';

/** For people to see, of a request that instructs a model: so much of it is looked at once more, and so many places are told. */
const MOST_CHARACTERS = 65_536;
const MOST_TEXTS = 256;
const MOST_PLACES = 8;
const LONGEST_POINTER = 256;
/** No phrase that the rules know is shorter. */
const SHORTEST_PHRASE = 8;

/**
 * The texts of a request that instruct a model each by itself, as JSON Pointers into its parameters. None where it takes several together, or
 * where it is a name that does. The last is the empty pointer where some text was not looked at: it stands for the request. Not recursive; bounded.
 */
export function placesOfInjection(params: JsonObject, level: HeuristicLevel): InjectedPlace[] {
  const found: InjectedPlace[] = [];
  let characters = 0;
  let texts = 0;
  let isPartial = false;
  const open: { readonly value: Json; readonly at: string }[] = [{ value: params, at: '' }];
  for (let next = open.pop(); next !== undefined && found.length < MOST_PLACES; next = open.pop()) {
    const { value, at } = next;
    const isText = typeof value === 'string' && value.length >= SHORTEST_PHRASE;
    if (!isText && (typeof value !== 'object' || value === null)) continue;
    if (texts === MOST_TEXTS) {
      isPartial = true;
      break;
    }
    // A text that is too long keeps none behind it from being looked at.
    if (at.length > LONGEST_POINTER || (isText && characters + value.length > MOST_CHARACTERS)) isPartial = true;
    else if (isText) {
      texts += 1;
      characters += value.length;
      if (detectInjectionByBoth('', inspectTexts({ text: value }, level)).detected) found.push({ at });
    } else {
      const members = Object.entries(value as Readonly<Record<string, Json>>);
      for (const [name, inner] of members.toReversed())
        open.push({ value: inner, at: `${at}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}` });
    }
  }
  return isPartial && found.length < MOST_PLACES ? [...found, { at: '' }] : found;
}
