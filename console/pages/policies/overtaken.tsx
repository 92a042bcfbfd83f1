import type { ComponentChildren } from 'preact';
import { isIntact, type PolicyVersion } from '../../../contracts/policy-library.js';
import { settled, type Settled } from '../../services.js';
import { Foreign, ForeignBlock, OrAway, Time } from '../../ui/parts.js';
import { Diff } from '../../ui/source.js';
import type { Visit } from '../../visit.js';
import { By } from './told.js';

/** What came after the version that somebody looked at; that is `null` where there was none yet. */
export interface Between {
  readonly on: number | null;
  readonly now: number;
  readonly diff: Settled<string | null>;
  readonly newest: PolicyVersion | undefined;
}

/** What came after `on`; `null` where nothing did. */
export async function between(
  { services: { policy } }: Visit,
  name: string,
  { on, now }: { readonly on: number | null; readonly now: number },
): Promise<Between | null> {
  if (on === now) return null;
  const [compared, versions] = await Promise.all([
    on === null ? ({ ok: true, value: null } as const) : settled('policy', policy.diff(name, on, now)),
    settled('policy', policy.versions(name)),
  ]);
  const newest = versions.ok ? versions.value?.[0] : undefined;
  // It stays edited, however often it is asked for: what came after it is then to be read as it is.
  const diff = !compared.ok && compared.isEdited ? ({ ok: true, value: null } as const) : compared;
  return { on, now, diff, newest: newest && isIntact(newest) ? newest : undefined };
}

/** The version that a form is for: that of now, unless what came in between could not be shown. */
export const versionShownOf = (of: Between | null, now: number | null): number | '' =>
  (of === null || of.diff.ok ? now : of.on) ?? '';

/**
 * The digest of the text that the form of `versionShownOf` is for. Where the same version is another text by now, it stays that of the one that was
 * looked at, so that the change is refused until the page is opened again.
 */
export const digestShownOf = (of: Between | null, now: string | null, typed: string | null): string =>
  (of?.diff.ok ? now : (typed ?? (of === null ? now : null))) ?? '';

/** Somebody else was first: who, why, and what he changed. `children` say what becomes of what was typed. */
export const Overtaken = ({
  of: { on, now, diff, newest },
  nowMs,
  children,
}: {
  readonly of: Between;
  readonly nowMs: number;
  readonly children: ComponentChildren;
}) => (
  <section class="overtaken" aria-labelledby="overtaken">
    <h2 id="overtaken">
      {on === null
        ? `Somebody made version ${now} since`
        : `Version ${now} came after the one that you began with, ${on}`}
    </h2>
    {newest && (
      <p>
        <By of={newest} /> <Time iso={newest.created_at} nowMs={nowMs} />: <Foreign text={newest.reason} />
      </p>
    )}
    <OrAway of={diff}>
      {(found) =>
        found !== null ? (
          <Diff of={found} label="What came in between" />
        ) : (
          <>
            {on !== null && (
              <p class="dim">
                The version that you began with is of another copy, or was edited in the store, so what changed cannot
                be shown.
              </p>
            )}
            {newest && <ForeignBlock text={newest.body} label="What it says" />}
          </>
        )
      }
    </OrAway>
    <p>{children}</p>
  </section>
);
