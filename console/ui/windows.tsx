import type { Notice } from '../visit.js';

/** Relative windows of the pages, with their words and their length. */
export const WINDOWS = {
  '15m': ['15 minutes', 900_000],
  '1h': ['hour', 3_600_000],
  '24h': ['24 hours', 86_400_000],
  '7d': ['7 days', 604_800_000],
  '30d': ['30 days', 2_592_000_000],
} as const satisfies Readonly<Record<string, readonly [words: string, ms: number]>>;

export type WindowName = keyof typeof WINDOWS;
export const isWindow = (text: string): text is WindowName => Object.hasOwn(WINDOWS, text);

/** The window that an address names, of those that a page has; else the usual one, and where another is named, that there is no such window. */
export function windowOf<Name extends string>(
  asked: string | undefined,
  options: readonly Name[],
  usual: Name,
): { readonly window: Name; readonly misread: Notice | null } {
  const window = options.find((option) => option === asked);
  if (window !== undefined || asked === undefined || asked === '') return { window: window ?? usual, misread: null };
  const text = `This page has no such window as this address names, only ${options.join(', ')}: ${usual} is shown (invalid_window).`;
  return { window: usual, misread: { kind: 'bad', text } };
}

/** Leads to the same page over each of them. */
export const WindowLinks = <Name extends string>({
  options,
  at,
  window,
}: {
  readonly options: readonly Name[];
  readonly at: (said: { readonly window: Name }) => string;
  readonly window: Name;
}) => (
  <>
    {options.map((option) => (
      <span key={option}>
        <a href={at({ window: option })} aria-current={option === window ? 'page' : undefined}>
          {option}
        </a>{' '}
      </span>
    ))}
  </>
);
