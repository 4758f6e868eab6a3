/** What every server of the bench answers: the payload of the wire protocol's example. */
export const SERVICE = 'barista';

/** Where it is. */
export const ADDRESS: { readonly host: string; readonly port: number; readonly instance: string } = Object.freeze({
	host: '10.0.0.12',
	port: 8765,
	instance: 'node-1/barista-1',
});
