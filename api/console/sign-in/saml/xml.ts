import { DOMParser } from '@xmldom/xmldom';

/** More of any is no sign-in, and would keep the process busy. An answer has some hundred attributes; where each
 * group has three of them, that is a person in nearly five hundred groups. To verify takes about half a millisecond for each.
 * Namespaces count where they are in scope: each element is digested with all that its ancestors declare. */
const MOST = { elements: 2_500, attributes: 1_500, depth: 30, namespaces: 20 };

const PROLOG = /^<\?xml [^<>?]{1,200}\?>/;

/**
 * The root of an XML text. Throws for anything that two readers might read differently: a DTD and with it every entity, CDATA, a processing
 * instruction, and, unless they are allowed, comments (they split a text in two).
 */
export function readXml(text: string, { comments = false } = {}): Element {
  const body = text.replace(PROLOG, '');
  const markup = comments ? /<!(?!--)|<\?/ : /<[!?]/;
  if (markup.test(body)) throw new Error('it has markup that is not read: a DTD, an instruction, CDATA or a comment');
  // Counted in the text: the parser takes longer than in proportion.
  if (countOf(body, '<') > 2 * MOST.elements || countOf(body, '"') + countOf(body, "'") > 2 * MOST.attributes)
    throw new Error('it has too many elements, or too many attributes');
  const fail = (words: unknown): never => {
    throw new Error(`it is not well-formed: ${String(words).split('\n')[0]}`);
  };
  const { childNodes } = new DOMParser({
    errorHandler: { warning: fail, error: fail, fatalError: fail },
  }).parseFromString(body, 'text/xml');
  const [root, ...others] = [...listed(childNodes)].filter(isElement);
  if (root === undefined || others.length > 0) throw new Error('it has not exactly one root');
  let elements = 0;
  const measure = (of: Element, depth: number, outside: number): void => {
    elements += 1;
    if (elements > MOST.elements || depth > MOST.depth) throw new Error('it has too many elements, or nests too deep');
    const declared = [...attributesOf(of)].filter(({ name }) => name === 'xmlns' || name.startsWith('xmlns:'));
    const inScope = outside + declared.length;
    if (inScope > MOST.namespaces) throw new Error('it has too many namespaces');
    for (const child of elementsIn(of)) measure(child, depth + 1, inScope);
  };
  measure(root, 1, 0);
  return root;
}

const countOf = (text: string, character: string): number => text.split(character).length - 1;

function* listed(nodes: NodeListOf<ChildNode>): Generator<Node> {
  for (let at = 0; at < nodes.length; at += 1) yield nodes.item(at);
}
const isElement = (node: Node): node is Element => node.nodeType === 1;

export const elementsIn = (of: Element): readonly Element[] => [...listed(of.childNodes)].filter(isElement);

export const isNamed = (element: Element, namespace: string, name: string): boolean =>
  element.namespaceURI === namespace && element.localName === name;

/** The children of an element with this name. */
export const childrenOf = (of: Element, namespace: string, name: string): readonly Element[] =>
  elementsIn(of).filter((child) => isNamed(child, namespace, name));

/** The one child of an element with this name. Throws where there is none, or another one. */
export function onlyChild(of: Element, namespace: string, name: string): Element {
  const [child, ...others] = childrenOf(of, namespace, name);
  if (child === undefined || others.length > 0) throw new Error(`${of.localName} has not exactly one ${name}`);
  return child;
}

/** An attribute; `null` where there is none. */
export const attributeOf = (of: Element, name: string): string | null =>
  of.hasAttribute(name) ? of.getAttribute(name) : null;

/** The text of an element that holds nothing else. */
export function textOf(of: Element): string {
  const nodes = [...listed(of.childNodes)];
  if (nodes.some(({ nodeType }) => nodeType !== 3)) throw new Error(`${of.localName} holds more than text`);
  return nodes.map(({ nodeValue }) => nodeValue ?? '').join('');
}

/** Every element of a tree, the root first. */
export function* everyElement(root: Element): Generator<Element> {
  yield root;
  for (const child of elementsIn(root)) yield* everyElement(child);
}

/** Every attribute of an element, with its local name. */
export function* attributesOf({ attributes }: Element): Generator<Attr> {
  for (let at = 0; at < attributes.length; at += 1) {
    const attribute = attributes.item(at);
    if (attribute !== null) yield attribute;
  }
}

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;

/** A time of SAML, which is in UTC. Throws where it is none. */
export function instantOf(of: Element, name: string): number | null {
  const text = attributeOf(of, name);
  if (text === null) return null;
  const ms = INSTANT.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new Error(`${name} is no time`);
  return ms;
}
