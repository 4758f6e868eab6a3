/**
 * Waits until `probe` gives a value other than undefined or false, and gives it back. For what no event tells: other
 * processes and the kernel. The bound is generous, because it is met only when something is broken.
 */
export async function waitFor<T>(
	what: string,
	probe: () => T | undefined | false | Promise<T | undefined | false>,
	timeoutMs = 20_000,
): Promise<T> {
	const startedMs = performance.now();
	for (;;) {
		const value = await probe();
		if (value !== undefined && value !== false) return value;
		if (performance.now() - startedMs > timeoutMs) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
		await new Promise<void>((resolve) => setTimeout(resolve, 5));
	}
}
