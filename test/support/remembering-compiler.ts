import type { PolicyCompiler } from '../../domain/policy/compiler.js';

/**
 * A compiler that is asked the same once: the same texts come to the same answer, and tests have the same texts in many stores. What it could not
 * say, as for lack of time, is asked again.
 */
export function rememberingCompiler<Compiler extends PolicyCompiler>(compiler: Compiler): Compiler {
  const known = new Map<string, Promise<unknown>>();
  const once = <Answer>(question: unknown, ask: () => Promise<Answer>): Promise<Answer> => {
    const key = JSON.stringify(question);
    const before = known.get(key) as Promise<Answer> | undefined;
    if (before) return before;
    const asked = ask();
    known.set(key, asked);
    asked.catch(() => known.delete(key));
    return asked;
  };
  return {
    ...compiler,
    check: (source) => once(['check', source], () => compiler.check(source)),
    reads: (source) => once(['reads', source], () => compiler.reads(source)),
    compile: (sources) => once(['compile', ...sources], () => compiler.compile(sources)),
    version: () => once(['version'], () => compiler.version()),
    shared: () => once(['shared'], () => compiler.shared()),
  };
}
