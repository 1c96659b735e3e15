import { call, post } from '../data/api.js'
import type { FaultView } from '../data/views.js'
import { milliseconds } from '../data/words.js'
import { Action } from '../parts/action.js'
import { Choice } from '../parts/choice.js'
import { Form } from '../parts/form.js'
import { Shown } from '../parts/shown.js'
import { Table } from '../parts/table.js'

const METHODS = ['GET', 'POST', 'PATCH']
const STATUSES = ['500', '502', '503', '504', '400', '401', '403', '404', '409', '429']
const DROP = 'connection dropped'
const USUAL = 'as usual'

/** The injected faults of the API, with a form to add them and buttons to remove them. */
export function Faults({ faults }: { readonly faults: readonly FaultView[] }) {
  return (
    <>
      <h2>Faults</h2>
      <p class="lead">The API fails on purpose, to test your client. The oldest that matches is taken.</p>
      <Form label="Add a fault" add={add}>
        <label>
          Path begins with
          <input name="path" required placeholder="/v2/events" />
        </label>
        <Choice label="Method" name="method" none="any" choices={METHODS} />
        <Choice label="Answer" name="answer" choices={[...STATUSES, DROP, USUAL]} />
        <label>
          Delay, ms
          <input name="delay_ms" type="number" min="1" />
        </label>
        <label>
          Times
          <input name="times" type="number" min="1" placeholder="each" />
        </label>
      </Form>
      {faults.length === 0 ? (
        <p class="nothing">There is no fault.</p>
      ) : (
        <Table label="Faults" heads={['Requests', 'Answer', 'Left', 'Hits|number', 'Removal|unseen']}>
          {faults.map((fault) => (
            <Fault key={fault.id} fault={fault} />
          ))}
        </Table>
      )}
    </>
  )
}

/** Not validated here: the control API answers with the reason. */
const add = ({ answer, delay_ms, times, ...rest }: Readonly<Record<string, string>>): Promise<unknown> =>
  post('/faults', {
    ...rest,
    ...(answer === DROP ? { drop: true } : answer !== USUAL && { status: Number(answer) }),
    ...(delay_ms && { delay_ms: Number(delay_ms) }),
    ...(times && { times: Number(times) }),
  })

function Fault({ fault }: { readonly fault: FaultView }) {
  const { id, path, method, status, delay_ms, drop, times, hits } = fault
  const answer = status ?? (drop ? DROP : USUAL)
  return (
    <tr>
      <th scope="row" class="request">
        <b>{method ?? 'any'}</b> <Shown text={path} />
      </th>
      <td>
        {answer}
        {delay_ms !== undefined && `, ${milliseconds(delay_ms)} late`}
      </td>
      <td>{times ?? 'until removed'}</td>
      <td class="number">{hits}</td>
      <td>
        <Action look="small" run={() => call('DELETE', `/faults/${id}`)}>
          Remove<span class="unseen"> {id}</span>
        </Action>
      </td>
    </tr>
  )
}
