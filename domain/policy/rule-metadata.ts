import { parse } from 'yaml';

/** What a rule file says about one of its rules. */
export interface RuleMetadata {
  /** `deny`, `review`, or the name of a rule that has metadata. */
  readonly rule: string;
  readonly title: string | null;
  readonly description: string | null;
  /** The reason given to a call; `%s` stands for what the rule fills in. */
  readonly reason: string | null;
}

/** The package of a rule file (`package a.b`), or null. */
export const packageOf = (body: string): string | null => /^package[ \t]+([\w.]+)[ \t]*$/m.exec(body)?.[1] ?? null;

/** The rules of a file that deny, ask for review, or carry metadata, in order (OPA's manual, "Annotations"). */
export function rulesOf(body: string): readonly RuleMetadata[] {
  const found: RuleMetadata[] = [];
  let annotation: string[] | null = null;
  let metadata: Readonly<Record<string, unknown>> = {};
  const lines = body.split('\n');
  for (const [at, line] of lines.entries()) {
    if (line.startsWith('# METADATA')) annotation = [];
    else if (line.startsWith('#')) annotation?.push(line.slice(1).replace(/^ /, ''));
    else {
      if (annotation) metadata = annotated(annotation.join('\n'));
      annotation = null;
      const head = /^(?:default )?([a-z_]\w*)/.exec(line)?.[1];
      if (head === undefined || head === 'package' || head === 'import') continue;
      const verdict = /^(?:deny|review) contains /.test(line);
      if (verdict || Object.keys(metadata).length > 0)
        found.push({
          rule: head,
          title: textOf(metadata['title']),
          description: textOf(metadata['description']),
          reason: verdict ? reasonIn(wholeRule(lines, at)) : null,
        });
      metadata = {};
    }
  }
  return found;
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

function annotated(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** The string in a rule that starts like a reason: the reason itself, or what it is formatted or joined from. */
function reasonIn(rule: string): string | null {
  for (const [quoted] of rule.matchAll(/"(?:Violation|Review): (?:[^"\\]|\\.)*"/g)) {
    try {
      return JSON.parse(quoted) as string;
    } catch {
      // Rego has escapes that JSON does not; such a reason is left out here.
    }
  }
  return null;
}

/** The rule from its head to the closing bracket at the beginning of a line, or only the head. */
function wholeRule(lines: readonly string[], head: number): string {
  if (!/[{([]$/.test(lines[head] ?? '')) return lines[head] ?? '';
  const end = lines.findIndex((line, at) => at > head && /^[})\]]/.test(line));
  return lines.slice(head, end < 0 ? head + 1 : end).join('\n');
}
