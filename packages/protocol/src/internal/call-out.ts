/** Bound at load, because fake timers replace it. */
const defer = queueMicrotask;

/**
 * Calls what is not ours: a listener of the app. A fault of it is raised where the process hears of it, as an uncaught
 * exception, and disturbs neither the caller nor the listeners that are told after it.
 */
export function callOut(listener: () => void): void {
	try {
		listener();
	} catch (fault) {
		defer(() => {
			throw fault;
		});
	}
}
