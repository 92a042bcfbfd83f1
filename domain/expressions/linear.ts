import { RE2JS } from 're2js';

/** An expression over external text, in RE2 syntax: no look-around and no back-references, and `\s` and `\w` mean ASCII. */
export interface LinearExpression {
  test(text: string): boolean;
  /** Replaces all matches; `$1` stands for the first group. */
  replaceAll(text: string, replacement: string): string;
}

/**
 * For expressions that may take superlinear time in a backtracking engine: here, the time of one search is proportional to the text. An
 * ordinary literal is faster and just as safe where test/spec/linear-expressions.test.ts proves it linear.
 */
export function linear(source: string, flags: '' | 'i' = ''): LinearExpression {
  let made: RE2JS | undefined;
  // Compiled when it is first used: every process and thread loads all of them, and few need one.
  const compiled = (): RE2JS => (made ??= RE2JS.compile(source, flags === 'i' ? RE2JS.CASE_INSENSITIVE : 0));
  return {
    test: (text) => compiled().matcher(text).find(),
    replaceAll: (text, replacement) => compiled().matcher(text).replaceAll(replacement),
  };
}

const composedSoFar = new Map<string, RegExp>();
/** Every composed expression of the modules loaded so far. */
export const composedExpressions = (): readonly RegExp[] => [...composedSoFar.values()];

/**
 * An expression for the platform's engine, built from parts. Every such expression must be made here, so that the test can prove it linear
 * as it does for literals. Call it only while a module loads, so that no external text becomes a part.
 */
export function composed(source: string, flags = ''): RegExp {
  const expression = new RegExp(source, flags);
  composedSoFar.set(expression.toString(), expression);
  return expression;
}
