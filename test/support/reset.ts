// Resets a connection (RST), where that is still possible: libuv refuses it while a FIN is being sent, and Node 24 then keeps the handle for ever, so
// that the process never exits.
import type { Socket } from 'node:net'

export function reset (socket: Socket): void {
  socket.on('error', () => {})
  if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}
