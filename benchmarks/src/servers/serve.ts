/** The process that serves one peer. Arguments: which, and the address. Ends when its standard input ends. */
const [name = '', address = ''] = process.argv.slice(2);

switch (name) {
	case 'echo':
		(await import('./echo-server.ts')).serveEcho(address);
		break;
	case 'readline':
		(await import('./readline-server.ts')).serveReadline(address);
		break;
	case 'grpc':
		(await import('./grpc-server.ts')).serveGrpc(address);
		break;
	case 'http':
		(await import('./http-server.ts')).serveHttp(address);
		break;
	default:
		throw new Error(`no server is called ${name}`);
}
