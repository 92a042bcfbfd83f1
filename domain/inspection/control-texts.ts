import type { JsonObject } from '../../contracts/json.js';
import { isSecret, sensitiveDataIn } from '../masking/sensitive-data.js';
import { detectInjectionByBoth } from './injection.js';
import { inspectTexts } from './texts.js';

/**
 * What the parameters of a control call hold that they should not: rules of the injection lane, and every class of the data lane but EMAIL. Such a
 * call has no verdict, so that this is by rules alone, in the process that sends it; the schemas of those methods bound what there is to read.
 */
export function foundInControl(params: JsonObject): readonly string[] {
  const inspected = inspectTexts(params, 'standard');
  const { detected, found } = detectInjectionByBoth('', inspected);
  const classes = inspected.texts
    .flatMap(({ text }) => [...sensitiveDataIn(text)].map(({ type }) => type))
    .filter(isSecret);
  return [...new Set([...(detected ? found : []), ...classes])].toSorted();
}
