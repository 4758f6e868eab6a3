/** What nothing may take for itself while a simulation runs, and where it stands. */
const TAKEN: readonly (readonly [holder: object, name: string])[] = [
	[Math, 'random'],
	[Date, 'now'],
	[performance, 'now'],
	[globalThis, 'setTimeout'],
	[globalThis, 'setInterval'],
	[globalThis, 'setImmediate'],
];
/** What every simulated process is told that its number is: the real one has another length each time, and frames hold it. */
const PID = 4711;

/** Makes taking time or randomness from the real process an error. Gives a function that allows it again. */
export function forbidTaking(): () => void {
	const before = TAKEN.map(([holder, name]) => {
		const descriptor = Object.getOwnPropertyDescriptor(holder, name) ?? { value: undefined };
		const target = Object.hasOwn(holder, name) ? holder : (Object.getPrototypeOf(holder) as object);
		const found = Object.getOwnPropertyDescriptor(target, name) ?? descriptor;
		Object.defineProperty(target, name, {
			configurable: true,
			writable: true,
			value: () => {
				throw new Error(`${name} was taken, and not given: a simulation cannot replay that`);
			},
		});
		return () => Object.defineProperty(target, name, found);
	});
	const pid = Object.getOwnPropertyDescriptor(process, 'pid') ?? { value: process.pid };
	Object.defineProperty(process, 'pid', { ...pid, value: PID, configurable: true });
	// The secrets of clients: of one length, unlike each other, and the same in every replay.
	let secrets = 0;
	const nextSecret = (): string => `00000000-0000-4000-8000-${String(++secrets).padStart(12, '0')}`;
	Object.defineProperty(crypto, 'randomUUID', { configurable: true, value: nextSecret });
	return () => {
		for (const restore of before) restore();
		delete (crypto as { randomUUID?: unknown }).randomUUID;
		Object.defineProperty(process, 'pid', pid);
	};
}
