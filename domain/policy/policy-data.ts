import { z } from 'zod';
import { toolClass } from '../../contracts/policy.js';
import { responseAction, responseEntity } from '../../contracts/response-scan.js';

/** A list entry that rules can match: singular lower-case words joined by underscores ("wire_transfer"). */
const entry = z.string().regex(/^[a-z]+(_[a-z]+)*$/, 'is written in lower-case words joined by underscores');
const entries = z.array(entry);
const word = z.string().regex(/^[a-z]+$/, 'is one lower-case word');
const words = z.array(word);
/** Argument names are matched case-insensitively. */
const argumentNames = z.array(z.string().regex(/^[^A-Z]+$/, 'is written in lower case'));
const moneyNames = z.array(z.string().regex(/^[^\P{L}A-Z]+$/u, 'is one word in lower case'));
const fraction = z.number().min(0).max(1);
const hour = z.number().int().min(0).max(24);
const weekday = z.enum(['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']);

/**
 * The shape of policies/data.json, mounted at `data.gate`. Unknown and missing keys are refused, because a misspelt list would be an empty
 * list, and an empty list would allow what it should stop.
 */
export const policyData = z.strictObject({
  gate: z.strictObject({
    business_hours: z.strictObject({ weekdays: z.array(weekday), from_hour: hour, to_hour: hour }),
    intent: z.strictObject({ threshold: fraction }),
    persona_drift: z.strictObject({ review_from: fraction, deny_above: fraction }),
    velocity: z.strictObject({ limit: z.number().int().min(0), window_secs: z.number().int().min(1) }),
    budget: z.strictObject({ default_micros: z.number().int().min(0) }),
    verbs: z.strictObject({ read: words, change: words, other: words, connectives: words }),
    denylist: z.strictObject({ sql: entries, shell: entries }),
    destructive: z.strictObject({
      verbs: words,
      nouns: words,
      pairs: z.array(z.strictObject({ verbs: words, objects: words })),
      objects: words,
      record_nouns: words,
      harmless_phrases: z.array(z.string().regex(/^[a-z]+( [a-z]+)+$/, 'is two or more lower-case words')),
    }),
    sql: z.strictObject({
      query_words: words,
      engine_words: words,
      statement_arguments: argumentNames,
      sql_arguments: argumentNames,
      language_words: words,
      language_arguments: argumentNames,
      query_arguments: argumentNames,
      setting_arguments: argumentNames,
      value_arguments: argumentNames,
      prose_arguments: argumentNames,
      word_arguments: argumentNames,
      search_verbs: words,
      carriers: z.array(z.strictObject({ name: word, verbs: words, objects: words, arguments: argumentNames })),
    }),
    identity: z.strictObject({ tools: entries }),
    bulk_export: z.strictObject({ tools: entries }),
    money: z.strictObject({ wire_tools: entries, tools: entries, harmless_words: words }),
    production_writes: z.strictObject({
      verbs: words,
      objects: words,
      environment_arguments: z.array(z.string().min(1)),
      environment_words: words,
      negations: words,
    }),
    deployment: z.strictObject({ tools: entries }),
    // Rules of an earlier Gate say nothing of it.
    information_flow: z
      .strictObject({
        outbound_tools: entries,
        paying_tools: entries,
        fetching_tools: entries,
        destination_arguments: entries,
      })
      .optional(),
    kill_chain: z.strictObject({
      window_ms: z.number().int().min(0),
      sensitive_read_tools: entries,
      external_egress_tools: entries,
    }),
    // Rules of an earlier Gate have no list of reasons that need no person.
    approval: z.strictObject({
      strict_tools: entries,
      auto_tools: entries,
      auto_reviews: z.array(z.string().min(1)).optional(),
    }),
    plain_reads: z.strictObject({
      verbs: words,
      bare_verbs: words,
      closing_verbs: words,
      acting: words,
      nouns: words,
      particles: words,
      prefixes: words,
      digit_words: z.array(z.string().regex(/^[a-z]+[0-9][a-z0-9]*$/, 'is a lower-case word with digits')),
      secrets: entries,
      outside: words,
      obtaining_verbs: words,
      money: words,
      about_money: words,
      outright: entries,
      fillers: words,
      taking_verbs: words,
      queue_items: words,
      about_queues: words,
      powers: entries,
      glued_words: words,
      purposes: entries,
      rights: entries,
    }),
    /** Names of arguments that say how much, in what and to whom. They are compared without case, separators, accents and digits. */
    money_arguments: z.strictObject({
      amounts: moneyNames,
      amount_parts: moneyNames,
      amount_words: moneyNames,
      prices: moneyNames,
      counts: moneyNames,
      currencies: moneyNames,
      payees: moneyNames,
      payee_parts: moneyNames,
      payee_words: moneyNames,
      directions: moneyNames,
      direction_parts: moneyNames,
      parties: moneyNames,
    }),
    /** Data of an earlier Gate says nothing of answers: whatever is found in one is then a deny. `tool_actions` is by the tool's name. */
    responses: z
      .strictObject({
        default_action: responseAction,
        entity_actions: z.partialRecord(responseEntity, responseAction),
        tool_actions: z.record(z.string(), z.partialRecord(responseEntity, responseAction)),
      })
      .optional(),
    /** By the upstream's name, then by the tool's, as the upstream spells it. */
    tool_classes: z.record(z.string(), z.record(z.string(), toolClass)),
  }),
});
export type PolicyData = z.infer<typeof policyData>;
