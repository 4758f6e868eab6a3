// Made by `sidecar typegen` from ../services.json. Do not edit it: make it again.

/** Every service that there is, by its name. */
export const services = {
	barista: 'barista',
	employee: 'employee',
	orders: 'orders',
	till: 'till',
} as const;

/** The name of a service that there is. */
export type ServiceName = (typeof services)[keyof typeof services];

declare module '@spock/client' {
	// From here on a Diplomat that is asked for any other name does not compile.
	interface KnownServices extends Record<ServiceName, true> {}
}
