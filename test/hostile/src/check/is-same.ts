/** True for equal JSON values: equal own members in any order, -0 apart from 0. */
export function isSame(left: unknown, right: unknown): boolean {
	if (typeof left !== 'object' || left === null || typeof right !== 'object' || right === null) {
		return Object.is(left, right);
	}
	if (Array.isArray(left) !== Array.isArray(right)) return false;
	const names = Object.keys(left);
	if (names.length !== Object.keys(right).length) return false;
	return names.every(
		(name) =>
			Object.hasOwn(right, name) &&
			isSame((left as Record<string, unknown>)[name], (right as Record<string, unknown>)[name]),
	);
}
