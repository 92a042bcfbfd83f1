import { type Group, type Leaf, nameOf } from '../argument-values.js';

const WHOLE = /^\s*[+-]?\d{1,32}\s*$/;
const NANOS = /^\s*[+-]?\d{1,9}\s*$/;

/**
 * The values with each `{"units": "5", "nanos": 500000000}` (google.type.Money) as one: "5.5". It is an amount in an object of any name,
 * because no other form has both.
 */
export function withMoneyForms(leaves: readonly Leaf[]): readonly Leaf[] {
  const nanos = new Map<Group, string>();
  for (const { name, group, value } of leaves)
    if (name === 'nanos' && group !== null && NANOS.test(String(value))) nanos.set(group, String(value).trim());
  if (nanos.size === 0) return leaves;
  const whole = new Set<Group>();
  const read = leaves.map((leaf) => {
    const { name, group, value } = leaf;
    const fraction = group === null ? undefined : nanos.get(group);
    if (group === null || fraction === undefined || name !== 'units' || whole.has(group)) return leaf;
    if (!WHOLE.test(String(value))) return leaf;
    whole.add(group);
    const amount = together(String(value).trim(), fraction);
    return { ...leaf, name: 'amount', words: AMOUNT.words, names: [...leaf.names.slice(0, -1), AMOUNT], value: amount };
  });
  return read.filter(({ name, group }) => !(name === 'nanos' && group !== null && whole.has(group)));
}
const AMOUNT = nameOf('amount');

function together(units: string, nanos: string): string | number {
  const fraction = nanos
    .replace(/^[+-]/, '')
    .padStart(9, '0')
    .replace(/0{1,9}$/, '');
  const sign = nanos.startsWith('-') && /^[+-]?0{1,32}$/.test(units) ? '-' : '';
  const text = `${sign}${units}${fraction === '' ? '' : `.${fraction}`}`;
  return String(Number(text)) === text ? Number(text) : text;
}
