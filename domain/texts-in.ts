/** The texts of a list, without what else stands in it; none of anything else. */
export const textsIn = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
