/** How many go from each of these to each of those. A chart like the others: beside it stands a table with the same numbers. */
export interface Flow {
  readonly from: string;
  readonly to: string;
  readonly count: number;
}

const WIDTH = 480;
const HEIGHT = 200;
const BAR = 12;
/** Of the words at both sides. */
const SIDE = 120;
const GAP = 16;
const LEAST = 3;

export interface Stop {
  readonly key: string;
  readonly words: string;
  readonly tone: string;
}

/** Bands from what is on the left to what it becomes on the right, each as wide as its share, and wide enough to be seen. */
export function FlowChart({
  of,
  stops,
  label,
}: {
  readonly of: readonly Flow[];
  readonly stops: readonly Stop[];
  readonly label: string;
}) {
  const total = of.reduce((sum, { count }) => sum + count, 0);
  const room = HEIGHT - GAP * (stops.length - 1) - LEAST * of.length;
  const heightOf = (count: number): number => (count === 0 ? 0 : LEAST + (count / Math.max(1, total)) * room);
  const left = sideOf('from', of, stops, heightOf);
  const right = sideOf('to', of, stops, heightOf);
  return (
    <svg
      class="chart flow"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
    >
      {of
        .filter(({ count }) => count > 0)
        .map(({ from, to, count }) => {
          const [y0, y1] = [left.take(from, count), right.take(to, count)];
          const [x0, x1, middle] = [SIDE + BAR, WIDTH - SIDE - BAR, WIDTH / 2];
          const height = heightOf(count);
          return (
            <path
              key={`${from} ${to}`}
              class={`band ${stops.find(({ key }) => key === to)?.tone ?? ''}`}
              d={`M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}V${y1 + height}C${middle} ${y1 + height} ${middle} ${y0 + height} ${x0} ${y0 + height}Z`}
            />
          );
        })}
      {stops.map(({ key, words, tone }) => (
        <g key={key}>
          {left.height(key) > 0 && (
            <>
              <rect class={tone} x={SIDE} y={left.top(key)} width={BAR} height={left.height(key)} />
              <text x={SIDE - 6} y={left.middle(key)} text-anchor="end">{`${words} ${left.count(key)}`}</text>
            </>
          )}
          {right.height(key) > 0 && (
            <>
              <rect class={tone} x={WIDTH - SIDE - BAR} y={right.top(key)} width={BAR} height={right.height(key)} />
              <text x={WIDTH - SIDE + 6} y={right.middle(key)}>{`${words} ${right.count(key)}`}</text>
            </>
          )}
        </g>
      ))}
    </svg>
  );
}

/** One side: its bars below each other, in the order of the stops, and where the next band of each begins. */
function sideOf(side: 'from' | 'to', of: readonly Flow[], stops: readonly Stop[], heightOf: (count: number) => number) {
  const bars = new Map<string, { top: number; height: number; count: number; next: number }>();
  let y = 0;
  for (const { key } of stops) {
    const own = of.filter((flow) => flow[side] === key);
    const height = own.reduce((sum, { count }) => sum + heightOf(count), 0);
    bars.set(key, { top: y, height, count: own.reduce((sum, { count }) => sum + count, 0), next: y });
    if (height > 0) y += height + GAP;
  }
  const at = (key: string) => bars.get(key) ?? { top: 0, height: 0, count: 0, next: 0 };
  return {
    top: (key: string) => at(key).top,
    height: (key: string) => at(key).height,
    middle: (key: string) => Math.max(12, at(key).top + at(key).height / 2 + 4),
    count: (key: string) => at(key).count,
    take(key: string, count: number): number {
      const bar = at(key);
      const { next } = bar;
      bar.next += heightOf(count);
      return next;
    },
  };
}
