import { RE2JS } from 're2js';

/** An expression over text from outside, in RE2's syntax: no look-around and no back-reference, `\s` and `\w` mean ASCII. */
export interface LinearExpression {
  test(text: string): boolean;
  /** All matches replaced; `$1` stands for the first group. */
  replaceAll(text: string, replacement: string): string;
}

/**
 * For expressions that a backtracking engine may take superlinear time for: the time of one search is proportional to the text, whatever
 * it holds. An ordinary literal is faster, and is as good where test/spec/linear-expressions.test.ts proves it linear.
 */
export function linear(source: string, flags: '' | 'i' = ''): LinearExpression {
  const compiled = RE2JS.compile(source, flags === 'i' ? RE2JS.CASE_INSENSITIVE : 0);
  return {
    test: (text) => compiled.matcher(text).find(),
    replaceAll: (text, replacement) => compiled.matcher(text).replaceAll(replacement),
  };
}

const composedSoFar = new Map<string, RegExp>();
/** Every composed expression of the modules loaded so far. */
export const composedExpressions = (): readonly RegExp[] => [...composedSoFar.values()];

/**
 * An expression put together from parts, for the platform's engine. The one way to make one: what is made here can be proved linear as
 * literals are. To be called while a module is loaded, so that no text from outside becomes a part.
 */
export function composed(source: string, flags = ''): RegExp {
  const expression = new RegExp(source, flags);
  composedSoFar.set(expression.toString(), expression);
  return expression;
}
