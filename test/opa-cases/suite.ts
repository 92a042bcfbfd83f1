import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { z } from 'zod';
import { OPA_VERSION } from '../../stack/programs/find-program.js';

const run = promisify(execFile);

/** A case of OPA's own suite (`v1/test/cases/cases.go`): modules, a query over them, and what it answers. */
const opaCase = z.looseObject({
  note: z.string(),
  query: z.string(),
  modules: z.array(z.string()).nullish(),
  data: z.record(z.string(), z.unknown()).nullish(),
  input: z.unknown().optional(),
  input_term: z.string().nullish(),
  want_defined: z.boolean().nullish(),
  want_result: z.array(z.record(z.string(), z.unknown())).nullish(),
  want_error_code: z.string().nullish(),
  want_error: z.string().nullish(),
  strict_error: z.boolean().nullish(),
});
export type OpaCase = z.infer<typeof opaCase>;

/** The cases of the OPA that Gate builds, from the module of that version; by name, in order. */
export async function suiteOfOpa(): Promise<readonly OpaCase[]> {
  const module = `github.com/open-policy-agent/opa@${OPA_VERSION}`;
  const { stdout } = await run('go', ['mod', 'download', '-json', module], { timeout: 300_000 });
  const { Dir: folder } = z.object({ Dir: z.string() }).parse(JSON.parse(stdout));
  const cases = join(folder, 'v1', 'test', 'cases', 'testdata', 'v1');
  const paths = (await readdir(cases, { recursive: true })).filter((path) => path.endsWith('.yaml'));
  const files = await Promise.all(
    paths.toSorted().map(async (path) => {
      const file = z.object({ cases: z.array(opaCase) });
      return file.parse(parse(await readFile(join(cases, path), 'utf8'), { maxAliasCount: -1 })).cases;
    }),
  );
  return files.flat();
}

/** A case as modules that stand beside those of others: its packages and its data are below a name of its own. */
export interface Placed {
  readonly name: string;
  readonly of: OpaCase;
  readonly modules: readonly string[];
  /** What the query answers, as a list of bindings. */
  readonly answer: string;
}

export function placed(of: OpaCase, at: number): Placed {
  const name = `case_${at}`;
  const variables = new Set((of.want_result ?? []).flatMap((row) => Object.keys(row)));
  const row = [...variables].map((variable) => `${JSON.stringify(variable)}: ${variable}`).join(', ');
  return {
    name,
    of,
    modules: (of.modules ?? []).map((text) => below(name, text)),
    answer: `package gate_answers.${name}\n\nanswer := [{${row}} | ${below(name, of.query.trim())}]\n`,
  };
}

/** Whether the input must be that of the case alone, with nothing beside it: some cases have none. */
export const bare = ({ of }: Placed): boolean =>
  of.input === undefined && !of.input_term && /\binput\b/.test([...(of.modules ?? []), of.query].join('\n'));

/** The deny rules that give the answers of cases: each to an input that names it, or to data that do. */
export const asked = (cases: readonly Placed[]): string =>
  [
    'package gate.authz',
    ...cases.map((one) => {
      const { name, of } = one;
      const given = of.input_term ?? (of.input === undefined ? null : 'input.given');
      const answer = `answer := data.gate_answers.${name}.answer${given ? ` with input as ${given}` : ''}`;
      return `deny contains {"answer": answer} if {\n\t${bare(one) ? 'data.asked_case' : 'input.case'} == "${name}"\n\t${answer}\n}`;
    }),
  ].join('\n\n');

/** Strings, comments, names with what is before them; everything else as it is. */
const TOKENS = /\$?"(?:[^"\\\n]|\\.)*"|\$?`[^`]*`|#[^\n]*|\.?[A-Za-z_]\w*|[\s\S]/g;

/** The text with `package x` as `package name.x` and `data` as `data.name`. */
function below(name: string, text: string): string {
  let declares = false;
  let declared = false;
  return [...text.matchAll(TOKENS)]
    .map(([token]) => {
      if (declares && /^[A-Za-z_]/.test(token)) {
        declares = false;
        declared = true;
        return `${name}.${token}`;
      }
      if (token === 'package' && !declared) declares = true;
      // A template has expressions in it.
      if (token.startsWith('$')) return token.replaceAll(/\bdata\./g, `data.${name}.`);
      return token === 'data' ? `data.${name}` : token;
    })
    .join('');
}
