import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';

const OWN = 'test/spec/citations.test.ts';
/** Texts of others: the packages' lock file, and lists of words and commands. */
const NOT_OURS = /^(?:package-lock\.json|policies\/data\.json|test\/vectors\/.*\.txt)$/;
const TEXT = /\.(?:tsx?|mts|mjs|js|json|md|rego|ya?ml|txt|toml|cfg|sh)$|(?:^|\/)(?:Dockerfile|\.ci\/[^/]+)$/;

/** Texts that the repository does not hold. */
const UNOPENABLE: readonly RegExp[] = [
  /\bDESIGN\b/,
  /\bSPEC(?:\.md|\b)/,
  /\b[Ss]pec(?:ification)?s?,? (?:section )?\d/,
  /\b[Ss]heets?,? (?:section )?\d/,
  /\b(?:the|proxy|brain|policy|ledger|review|identity|lite|SDK|console) sheet\b/i,
  /\bthe seed (?:says|wins|names|demands)\b/i,
  /\bissues? #?\d/i,
];
const LINK = /\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)/g;

const read = (file: string): string => readFileSync(join(PROJECT_ROOT, file), 'utf8');
const files = execFileSync('git', ['ls-files'], { cwd: PROJECT_ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((file) => TEXT.test(file) && !NOT_OURS.test(file) && file !== OWN && existsSync(join(PROJECT_ROOT, file)));

/** A file of this repository, with a heading of it where it is a page. */
const FOLDERS = [...new Set(files.filter((file) => file.includes('/')).map((file) => file.split('/')[0] as string))];
const PATH = new RegExp(
  String.raw`(?<![\w./@-])((?:${FOLDERS.join('|').replaceAll('.', String.raw`\.`)})/[\w./-]*\w\.(?:tsx?|mjs|rego|md|json|yaml|sql))\b(?:#([\w-]+))?`,
  'g',
);
/** One makes files up, the other speaks of files as they were. */
const NOT_FOLLOWED = new Set(['scripts/find-hollow.test.ts', 'CHANGELOG.md']);

/** The anchors of a page's headings, as GitHub makes them. */
const anchors = (page: string): ReadonlySet<string> =>
  new Set(
    [...read(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) =>
      (heading as string)
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  );

/** A comment may break a citation over two lines, so each line is also read together with the next one. */
function unopenable(file: string, text: string): string[] {
  const cites = (words: string) => UNOPENABLE.some((pattern) => pattern.test(words));
  return text.split('\n').flatMap((line, at, lines) => {
    const next = (lines[at + 1] ?? '').replace(/^\s*(?:\*|\/\/|#)?\s*/, '');
    return cites(line) || (cites(`${line} ${next}`) && !cites(next)) ? [`${file}:${at + 1}: ${line.trim()}`] : [];
  });
}

function leadsNowhere(file: string, text: string): string[] {
  const named = [...text.matchAll(PATH)].map(([, page, anchor]) => [page as string, anchor] as const);
  const linked = file.endsWith('.md')
    ? [...text.matchAll(LINK)].map(([, target, anchor]) => {
        const path = target === '' ? file : relative('.', join(dirname(file), target as string));
        return [path, anchor] as const;
      })
    : [];
  return [...named, ...linked].flatMap(([path, anchor]) => {
    const target = `${file}: ${path}${anchor === undefined ? '' : `#${anchor}`}`;
    if (!existsSync(join(PROJECT_ROOT, path))) return [target];
    return anchor !== undefined && path.endsWith('.md') && !anchors(path).has(anchor) ? [target] : [];
  });
}

describe('what comments, titles of tests and pages cite', () => {
  it('stands in this repository or is public', () => {
    expect(files.length).toBeGreaterThan(800);
    expect(files.flatMap((file) => unopenable(file, read(file)))).toEqual([]);
  });

  it('leads to a file that exists, and to a heading in it', () => {
    expect(files.filter((file) => !NOT_FOLLOWED.has(file)).flatMap((file) => leadsNowhere(file, read(file)))).toEqual(
      [],
    );
  });

  it.each([
    'Moves (DESIGN section 1).',
    'DESIGN 7: strict JSON',
    'in the order of spec section 6',
    '(spec 8.3)',
    'SPEC.md says so',
    'by ledger sheet 1.5',
    'Lite sheet 11.',
    'as the sheet names it: the sheet',
    'issue 4: ready in under a second',
    'see issue #12',
  ])('is refused where nobody can open it: %s', (line) => {
    expect(unopenable('a.ts', line)).toEqual([`a.ts:1: ${line}`]);
  });

  it('is refused where a line ends in the middle of it', () => {
    expect(unopenable('a.ts', ' * tried once (spec\n * 8.3), and no more')).toEqual(['a.ts:1: * tried once (spec']);
  });

  it.each(['RFC 8785, section 3.2', 'C2SP signed-note', 'Regulation (EU) 2024/1689, article 73', 'spec.intervals[0]'])(
    'may be %s',
    (line) => {
      expect(unopenable('a.ts', line)).toEqual([]);
    },
  );

  it.each([
    ['a.ts', '// docs/architecture/no-page.md', 'docs/architecture/no-page.md'],
    ['a.ts', '// see domain/no-folder/no-file.ts', 'domain/no-folder/no-file.ts'],
    ['a.ts', '// docs/architecture/verdict.md#no-heading', 'docs/architecture/verdict.md#no-heading'],
    ['docs/decisions/a.md', '[x](../architecture/verdict.md#no-heading)', 'docs/architecture/verdict.md#no-heading'],
    ['README.md', '[x](no-file.md)', 'no-file.md'],
  ])('is refused where it leads nowhere: %s, %s', (file, text, target) => {
    expect(leadsNowhere(file, text)).toEqual([`${file}: ${target}`]);
    expect(leadsNowhere(file, '// docs/architecture/verdict.md#thresholds')).toEqual([]);
  });
});

describe('a commit at which something was measured', () => {
  const git = (...args: string[]) => spawnSync('git', args, { cwd: PROJECT_ROOT, encoding: 'utf8' });
  // One that merely lies in this copy, as before a rebase, no clone has.
  const isHeld = (commit: string): boolean => git('merge-base', '--is-ancestor', commit, 'HEAD').status === 0;
  // A clone of the newest commits alone has not the older ones.
  const isShallow = git('rev-parse', '--is-shallow-repository').stdout.trim() === 'true';
  /** Figures of a commit that nobody has say so: on their page, or in the same paragraph of a page of `docs`. */
  const notRepeatable = /\bnot repeatable\b/i;
  const named = files.flatMap((file) => {
    if (/^bench\/results\/.*\.md$/.test(file)) {
      const page = read(file);
      return [...page.matchAll(/\b(?:commit|other side) `?([0-9a-f]{7,40})\b/g)].map(
        ([, commit]) => [commit as string, file, page] as const,
      );
    }
    if (!/^(?:docs\/(?:architecture|decisions)\/.*|ARCHITECTURE)\.md$/.test(file)) return [];
    return read(file)
      .split(/\n\n/)
      .flatMap((paragraph) => commitsIn(paragraph).map((commit) => [commit, file, paragraph] as const));
  });

  it('is in this repository, or its figures say that nobody can repeat them', () => {
    expect(named.filter(([, file]) => file.startsWith('bench/')).length).toBeGreaterThan(30);
    expect(named.filter(([, file]) => file.startsWith('docs/')).length).toBeGreaterThan(10);
    const missing = named.filter(([commit, , said]) => !isShallow && !notRepeatable.test(said) && !isHeld(commit));
    expect(missing.map(([commit, file]) => `${file}: ${commit}`)).toEqual([]);
  });

  it('is known in a text by what it looks like', () => {
    expect(commitsIn('over commit 6ed2d2c, with 65aa90b9 and (e4bd89a)')).toEqual(['6ed2d2c', '65aa90b9', 'e4bd89a']);
    expect(commitsIn('`e2fea966` of ed25519 decided 1234567 calls at meta-llama/PurpleLlama at 4be64c3a2444')).toEqual(
      [],
    );
  });

  it('is not, where nobody has it', () => {
    expect([isHeld('HEAD'), isHeld('0000000')]).toEqual([true, false]);
  });
});

/** Words of seven or eight hexadecimal digits, as git shortens a commit: both figures and letters in them, and no code. */
function commitsIn(text: string): readonly string[] {
  return [...text.replaceAll(/`[^`]*`/g, '').matchAll(/(?<![\w/-])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,8}(?![\w-])/g)]
    .map(([commit]) => commit)
    .filter((commit) => commit !== 'ed25519');
}
