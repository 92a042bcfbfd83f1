import { type AddedMaterial, type AddedRules, createAddedRules } from '../../domain/policy/added-rules.js';

/** Added rules as they are handed to threads: of the data, which is read once per instance, every question has the same shared bytes. */
export interface HandedRules extends Omit<AddedMaterial, 'data'> {
  readonly data: SharedArrayBuffer;
}

/** Makes them of rules, once. */
export function handingOver(): (added: AddedRules | null) => HandedRules | null {
  const handedOver = new WeakMap<AddedRules, HandedRules>();
  return (added) => {
    if (added === null) return null;
    const made = handedOver.get(added) ?? { ...added.material, data: sharedText(added.material.data) };
    handedOver.set(added, made);
    return made;
  };
}

/** In a thread: an instance of its own of what was handed to it. */
export const rulesHanded = (handed: HandedRules): AddedRules =>
  createAddedRules({ ...handed, data: JSON.parse(Buffer.from(handed.data).toString()) as object });

/** As bytes that every thread reads, and no question copies. */
function sharedText(data: object): SharedArrayBuffer {
  const text = Buffer.from(JSON.stringify(data));
  const shared = new SharedArrayBuffer(text.length);
  text.copy(Buffer.from(shared));
  return shared;
}
