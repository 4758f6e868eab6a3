/**
 * How long a connection may be idle: as long as is allowed here, or until shortly before the server closes it, which it
 * tells in the header Keep-Alive (`timeout=5`, seconds). At most 0: it must not be used again.
 *
 * Node itself heeds the header only where the agent has a `timeout`.
 */
export function idleTimeMs(limitMs: number, keepAlive: string | undefined, bufferMs: number): number {
	const seconds = /(?:^|[\s,;])timeout=(\d+)/i.exec(keepAlive ?? '')?.[1];
	return seconds === undefined ? limitMs : Math.min(limitMs, Number(seconds) * 1000 - bufferMs);
}
