/** What is made of an object that never changes: once for each, as long as somebody holds the object. */
export function madeOnce<Of extends object, Made>(make: (of: Of) => Made): (of: Of) => Made {
  const known = new WeakMap<Of, { readonly made: Made }>();
  return (of) => {
    const kept = known.get(of) ?? { made: make(of) };
    known.set(of, kept);
    return kept.made;
  };
}
