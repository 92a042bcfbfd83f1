import type { Form, Shown } from '../visit.js';
import { ForeignBlock } from './parts.js';

/** What somebody wrote into a form, for a page on which the form cannot stand again, so that it can be copied. */
export const Typed = ({ form }: { readonly form: Form }) => {
  const texts = form.written();
  return texts.length === 0 ? null : (
    <section aria-labelledby="typed">
      <h2 id="typed">What you typed</h2>
      {texts.map(({ name, label, text }) => (
        <ForeignBlock key={name} text={text} label={label} />
      ))}
    </section>
  );
};

/** A page that shows no form again, with what somebody wrote into it. */
export const withTyped = (form: Form, { body, ...shown }: Shown): Shown => ({
  ...shown,
  body: (
    <>
      <Typed form={form} />
      {body}
    </>
  ),
});
