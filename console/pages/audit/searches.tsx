import { escapedInPath } from '../../../domain/name-in-path.js';
import type { SavedSearch } from '../../../contracts/console.js';
import type { Settled } from '../../services.js';
import { addressOf } from '../../ui/addresses.js';
import { Csrf, Foreign, OrAway } from '../../ui/parts.js';
import { type Asked, asked, asksFor } from './asked.js';

/** The longest name of a search. */
export const LONGEST_NAME = 80;

export const Searches = ({
  kept,
  asked: said,
  mayKeep,
  csrf,
}: {
  readonly kept: Settled<readonly SavedSearch[]>;
  readonly asked: Asked;
  /** Whether what is asked for can be answered: a search that cannot is not worth keeping. */
  readonly mayKeep: boolean;
  readonly csrf: string;
}) => (
  <OrAway of={kept}>
    {(searches) => {
      const query = new URLSearchParams(said).toString();
      if (searches.length === 0 && (asksFor(said) === 0 || !mayKeep)) return null;
      return (
        <section class="searches" aria-label="Searches that you keep">
          {searches.map((search) => (
            <form key={search.name} class="filter" method="post" action="/audit/searches/forget">
              <Csrf token={csrf} />
              <input type="hidden" name="name" value={escapedInPath(search.name)} />
              <input type="hidden" name="query" value={query} />
              <a href={addressOf('/audit', asked(search.query))}>
                <Foreign text={search.name} />
              </a>
              <button type="submit">
                Forget
                <span class="vh">
                  {' '}
                  <Foreign text={search.name} />
                </span>
              </button>
            </form>
          ))}
          {asksFor(said) > 0 && mayKeep && (
            <form class="filter" method="post" action="/audit/searches">
              <Csrf token={csrf} />
              <input type="hidden" name="query" value={query} />
              <label>
                Keep this search as <input name="name" required maxLength={LONGEST_NAME} size={20} />
              </label>
              <button type="submit">Keep</button>
            </form>
          )}
        </section>
      );
    }}
  </OrAway>
);
