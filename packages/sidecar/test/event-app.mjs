// An app without a client library: opens a producer, sends events by an uplink as its window allows, and says on stdout which it has sent in
// a tick that is over. It is killed on purpose. Arguments: socket, name of the producer, bytes of a payload, events of a tick.
import { writeSync } from 'node:fs';
import { createConnection } from 'node:net';

const [path, producer, bytes, perTick] = process.argv.slice(2);
const payload = 'x'.repeat(Number(bytes));
const call = createConnection(path);
call.write(`${JSON.stringify({ id: 1, func: 'openProducer', data: { producer } })}\n`);
let text = '';
let sent = 0;
let sentBytes = 0;
let persisted = 0;
let window;
const sizes = [];
call.on('data', (chunk) => {
	text += chunk;
	const lines = text.split('\n');
	text = lines.pop();
	for (const line of lines) read(JSON.parse(line));
});
function read({ data, event }) {
	if (event === undefined) {
		window = data.window;
		const uplink = createConnection(path);
		uplink.on('error', () => process.exit(3));
		uplink.write(`${JSON.stringify({ func: 'uplink', data: { ticket: data.ticket } })}\n`);
		uplink.once('connect', () => tick(uplink));
	} else if (event === 'acked') {
		for (; persisted < data.persisted; persisted++) sentBytes -= sizes.shift();
	}
}
function tick(uplink) {
	let lines = '';
	for (let count = 0; count < Number(perTick); count++) {
		const data = JSON.stringify({ stream: 'orders', payload: `${sent + 1} ${payload}` });
		if (sentBytes + data.length > window.bytes) break;
		sent++;
		sentBytes += data.length;
		sizes.push(data.length);
		lines += `{"seq":${sent},"func":"event","data":${data}}\n`;
	}
	// One write, as a client makes it: the kernel counts some hundred bytes more for each.
	if (lines !== '') uplink.write(lines);
	setImmediate(() => {
		// What the kernel did not take is still this process's.
		if (uplink.writableLength === 0) writeSync(1, `${sent}\n`);
		tick(uplink);
	});
}
