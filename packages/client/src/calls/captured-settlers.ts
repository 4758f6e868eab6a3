/**
 * How the promise is settled that was made last with {@link captureSettlers}. One executor for all promises, and no closure for each:
 * 1.3x as fast. It runs within `new Promise`.
 */
export const captured: { resolve: (value: unknown) => void; reject: (error: unknown) => void } = {
	resolve: () => undefined,
	reject: () => undefined,
};

/** The executor. */
export function captureSettlers(resolve: (value: unknown) => void, reject: (error: unknown) => void): void {
	captured.resolve = resolve;
	captured.reject = reject;
}
