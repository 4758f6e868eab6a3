/** A whole number from the environment: how often, as the tools of the long suites pass it on. */
export function countFromEnv(name: string, byDefault: number): number {
	const count = Number(process.env[name] ?? byDefault);
	if (!Number.isSafeInteger(count) || count < 1) throw new Error(`${name} must be a whole number of at least 1`);
	return count;
}
