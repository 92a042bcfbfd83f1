import type { ComponentChildren } from 'preact';

/** Charts are drawn here, as SVG; each stands beside a table with the same numbers, and is hidden from who cannot see it. */

const HEIGHT = 32;
const STEP = 8;

/** One part of a time from `at` on, with what of it was denied and what was sent to people. */
export interface Bar {
  readonly at: string;
  readonly total: number;
  readonly denied: number;
  readonly reviewed: number;
}

/** Bars over time: of each what was denied at its foot, above it what went to people, and then what was allowed. `most` is the highest bar of all charts beside each other. */
export const Bars = ({
  of,
  most,
  label,
}: {
  readonly of: readonly Bar[];
  readonly most: number;
  readonly label: string;
}) => (
  <Over at={of.map(({ at }) => at)}>
    <svg
      class="chart"
      role="img"
      aria-label={label}
      width={of.length * STEP}
      height={HEIGHT}
      viewBox={`0 0 ${of.length * STEP} ${HEIGHT}`}
    >
      <line class="axis" x1={0} x2={of.length * STEP} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
      {of.map(({ total, denied, reviewed }, at) => {
        const height = (count: number) => (most === 0 || count === 0 ? 0 : Math.max(1, (count / most) * (HEIGHT - 2)));
        return (
          total > 0 && (
            <g key={at}>
              {/* Each stands before the one above it. */}
              {(
                [
                  ['allow', total],
                  ['park', denied + reviewed],
                  ['deny', denied],
                ] as const
              ).map(([tone, count]) => (
                <rect
                  key={tone}
                  class={tone}
                  x={at * STEP + 1}
                  width={STEP - 2}
                  y={HEIGHT - 1 - height(count)}
                  height={height(count)}
                />
              ))}
            </g>
          )
        );
      })}
    </svg>
  </Over>
);

/** A chart with the first and the last of its times below it, in UTC as all exact times are. */
const Over = ({ at, children }: { readonly at: readonly string[]; readonly children: ComponentChildren }) => (
  <div class="over">
    {children}
    <p class="dim">
      {[at[0], at.at(-1)].map(
        (time, end) => time !== undefined && <span key={end}>{`${time.slice(5, 10)} ${time.slice(11, 16)}`}</span>,
      )}
    </p>
  </div>
);

const LARGE = { height: 96, step: 20 };

/** Bars over time, each of parts upon each other, the first at its foot. The highest is as high as the chart. */
export const Stacks = ({
  of,
  at: from,
  label,
  isLarge = false,
}: {
  /** Of every part one count for each time. */
  readonly of: readonly { readonly tone: string; readonly counts: readonly number[] }[];
  /** When each time begins. */
  readonly at: readonly string[];
  readonly label: string;
  readonly isLarge?: boolean;
}) => {
  const { height, step } = isLarge ? LARGE : { height: HEIGHT, step: STEP };
  const times = Math.max(0, ...of.map(({ counts }) => counts.length));
  const wholes = Array.from({ length: times }, (_, at) => of.reduce((sum, { counts }) => sum + (counts[at] ?? 0), 0));
  const most = Math.max(0, ...wholes);
  const size = { width: times * step, height, viewBox: `0 0 ${times * step} ${height}` };
  return (
    <Over at={from}>
      <svg class="chart" role="img" aria-label={label} {...size}>
        <line class="axis" x1={0} x2={size.width} y1={height - 0.5} y2={height - 0.5} />
        {wholes.flatMap((_, at) => {
          let below = 0;
          return of.flatMap(({ tone, counts }) => {
            const count = counts[at] ?? 0;
            if (count === 0) return [];
            const part = Math.max(1, (count / most) * (height - 2));
            below += part;
            const y = Math.max(0, height - 1 - below);
            return [<rect key={`${at} ${tone}`} class={tone} x={at * step + 1} width={step - 2} y={y} height={part} />];
          });
        })}
      </svg>
    </Over>
  );
};

/** Parts of a whole beside each other. */
export const Shares = ({
  of,
  label,
}: {
  readonly of: readonly { readonly tone: 'allow' | 'park' | 'deny'; readonly count: number }[];
  readonly label: string;
}) => {
  const whole = of.reduce((sum, { count }) => sum + count, 0);
  let from = 0;
  return (
    <svg class="chart" role="img" aria-label={label} width={160} height={12} viewBox="0 0 160 12">
      {of.map(({ tone, count }) => {
        const width = whole === 0 ? 0 : (count / whole) * 160;
        from += width;
        return width > 0 && <rect key={tone} class={tone} x={from - width} width={width} y={0} height={12} />;
      })}
    </svg>
  );
};
