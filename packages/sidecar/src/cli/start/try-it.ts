import { parseTcpAddress } from '../client/tcp-address.ts';

/** What decides how a sidecar is asked. */
export interface TryItSettings {
	/** Where it listens, as it is shown; the first is asked. */
	readonly addresses: readonly string[];
	/** True if commands without flags find it there. */
	readonly isDefault: boolean;
	readonly hasToken: boolean;
	readonly tokenFile: string | undefined;
	readonly tokenOnSocket: boolean;
}

/** A command that looks a service up, to be pasted into a shell; undefined where none works without knowing more. */
export function tryItCommand(service: string, settings: TryItSettings): string | undefined {
	const { addresses, isDefault, hasToken, tokenFile, tokenOnSocket } = settings;
	const [address = ''] = addresses;
	const isPath = address.startsWith('/');
	// With TLS it needs the authority's certificate, which only the clients know.
	if (!isPath && !isReachable(address)) return undefined;
	const wantsToken = isPath ? tokenOnSocket : hasToken;
	if (wantsToken && tokenFile === undefined) return undefined;
	const where = isDefault ? '' : isPath ? ` --socket ${address}` : ` --connect ${address}`;
	const token = wantsToken ? ` --token-file ${tokenFile}` : '';
	return `npx --no-install sidecar get ${service}${where}${token}`;
}

function isReachable(address: string): boolean {
	const { host, isTls } = parseTcpAddress(address);
	// All addresses of the machine are none to connect to.
	return !isTls && host !== '0.0.0.0' && host !== '::';
}
