// What `console.log` and util.inspect call, with the function itself: https://nodejs.org/api/util.html#utilinspectcustom
const INSPECT = Symbol.for('nodejs.util.inspect.custom');

interface InspectOptions {
	readonly depth?: number | null;
}

/**
 * Has `console.log` show these members of the objects of a class, whose own are private and would show as `{}`. They are for
 * people, and must hold no secret: no token, and no value of a key.
 */
export function showAs<T extends object>(
	{ prototype }: { readonly prototype: T },
	name: string,
	members: (shown: T) => object,
): void {
	const value = function (
		this: T,
		depth: number,
		options: InspectOptions,
		inspect: (value: unknown, options: InspectOptions) => string,
	): string {
		if (depth < 0) return `[${name}]`;
		const { depth: left = 2 } = options;
		return `${name} ${inspect(members(this), { ...options, depth: left === null ? null : left - 1 })}`;
	};
	Object.defineProperty(prototype, INSPECT, { value });
}
