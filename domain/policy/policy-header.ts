/** What the comment block at the top of a rule file says of it: `# Key: value` lines, up to the first line that is no comment. */
export interface PolicyHeader {
  readonly domain: string | null;
  readonly severity: 'low' | 'medium' | 'high' | 'critical' | null;
  readonly frameworks: readonly string[];
  readonly tags: readonly string[];
  readonly tier: string | null;
  readonly tool_surface: readonly string[];
  readonly summary: string | null;
}

const SEVERITIES = ['low', 'medium', 'high', 'critical'] as const;

/** Keys ignore case, the last one counts, unknown ones count for nothing. A JSON document has no header. */
export function headerOf(body: string): PolicyHeader {
  const said = new Map<string, string>();
  for (const line of body.split('\n')) {
    if (!line.startsWith('#')) break;
    const at = line.indexOf(':');
    if (at > 0) said.set(line.slice(1, at).trim().toLowerCase(), line.slice(at + 1).trim());
  }
  const text = (key: string): string | null => said.get(key) || null;
  const list = (key: string): readonly string[] =>
    (said.get(key) ?? '')
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
  const severity = text('severity')?.toLowerCase();
  return {
    domain: text('domain'),
    severity: SEVERITIES.find((one) => one === severity) ?? null,
    frameworks: list('frameworks'),
    tags: list('tags'),
    tier: text('tier'),
    tool_surface: list('tool surface'),
    summary: text('summary'),
  };
}

const DOES = { deny: 'denies calls', review: 'sends calls to a person' } as const;
type Does = keyof typeof DOES;

/** Which of both the rules of a text do. */
const doneBy = (body: string): ReadonlySet<Does> =>
  new Set([...body.matchAll(/^(deny|review) contains /gm)].map(([, kind]) => kind as Does));

/** What a header's `Tier` claims and the rules below it do not hold to, in words; `null` where there is no such thing. */
export function tierContradicted(body: string): string | null {
  const { tier } = headerOf(body);
  const said = tier?.toLowerCase();
  if (said !== 'deny' && said !== 'review') return null;
  const does = doneBy(body);
  const other = said === 'deny' ? 'review' : 'deny';
  if (!does.has(other)) return null;
  const is = does.has(said) ? 'mixed' : other;
  return `Its header says \`# Tier: ${said}\`, and a rule of it ${DOES[other]} (\`${other} contains\`). What rules do is what counts: write \`# Tier: ${is}\`, or change the rule.`;
}

/** A header's `Tier` as people read it. */
export const tierTold = (tier: string): string => (tier.toLowerCase() === 'mixed' ? 'deny, review' : tier);
