import { EVENT_KINDS } from '../../contracts/event-kinds.js';
import { KNOWN_SIGNALS } from '../../domain/evidence/reports/hunt.js';
import { type WindowAsked, WINDOWS } from './windows.js';

/** A list to choose from; what stands in the address stays chosen, also where the list does not have it. */
export const Choice = ({
  label,
  name,
  value,
  any,
  of,
}: {
  readonly label: string;
  readonly name: string;
  readonly value: string | undefined;
  /** What the empty choice is called. */
  readonly any: string;
  readonly of: readonly (readonly [value: string, words: string])[];
}) => (
  <label>
    {label}{' '}
    <select name={name}>
      <option value="">{any}</option>
      {value !== undefined && !of.some(([known]) => known === value) && (
        <option value={value} selected>
          {value}
        </option>
      )}
      {of.map(([known, words]) => (
        <option key={known} value={known} selected={known === value}>
          {words}
        </option>
      ))}
    </select>
  </label>
);

export const Kinds = ({ name, value }: { readonly name: string; readonly value: string | undefined }) => (
  <Choice label="Event" name={name} value={value} any="any" of={EVENT_KINDS.map((kind) => [kind, kind])} />
);

export const Signal = ({ value }: { readonly value: string | undefined }) => (
  <>
    <label>
      Signal <input name="signal" value={value ?? ''} list="signals" size={16} data-search />
    </label>
    <datalist id="signals">
      {KNOWN_SIGNALS.filter((name) => !name.endsWith('_')).map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  </>
);

/** A window: a relative one, or its exact ends. */
export const Window = ({ asked }: { readonly asked: WindowAsked }) => (
  <>
    <Choice
      label="Last"
      name="window"
      value={asked.window}
      any="all time"
      of={Object.entries(WINDOWS).map(([name, [words]]) => [name, words])}
    />
    <label>
      or from <input name="from" value={asked.from ?? ''} placeholder="2026-01-02 03:04" size={16} />
    </label>
    <label>
      to <input name="to" value={asked.to ?? ''} placeholder="UTC, not included" size={16} />
    </label>
  </>
);
