/** The levels of each line that the sidecar may log, by its text, with `…` for what differs. */
export function logLines(): ReadonlyMap<string, readonly string[]>;
