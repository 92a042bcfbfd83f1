import type { Form } from '../visit.js';
import { ForeignBlock } from './parts.js';

/** The fields of forms in which people write, as opposed to what a page put there. */
const WRITTEN =
  /^(?:title|note|agent|call|reason|documentation|body|policy_name|parameter\.[a-z0-9_]{1,64}|value\.\d{1,4})$/;
const LABELS: Readonly<Record<string, string>> = {
  title: 'Title',
  note: 'Note',
  agent: 'Agents',
  call: 'Calls',
  reason: 'Reason',
  documentation: 'Documentation',
  body: 'Text',
  policy_name: 'Name',
};

/** What somebody wrote into a form, for a page on which the form cannot stand again, so that it can be copied. */
export const Typed = ({ form }: { readonly form: Form }) => {
  const texts = form.names().filter((name) => WRITTEN.test(name) && form.get(name).trim() !== '');
  return texts.length === 0 ? null : (
    <section aria-labelledby="typed">
      <h2 id="typed">What you typed</h2>
      {texts.map((name) => (
        <ForeignBlock key={name} text={form.get(name)} label={LABELS[name] ?? 'Value'} />
      ))}
    </section>
  );
};
