import type { RequestView } from '../data/views.js'
import { Result } from '../parts/badge.js'
import { Age } from '../parts/moment.js'
import { Shown } from '../parts/shown.js'
import { Table } from '../parts/table.js'

/** The requests of the user's code to the API, newest first. */
export function Requests({ requests }: { readonly requests: readonly RequestView[] }) {
  return (
    <>
      <h2>Requests</h2>
      {requests.length === 0 ? (
        <p class="nothing">No API requests yet: the API is at {location.origin}/v2.</p>
      ) : (
        <Table label="Requests" heads={['Request', 'Answer', 'Error', 'Key', 'Age|age']}>
          {requests.map((request) => (
            <tr key={request.id}>
              <th scope="row" class="request">
                <b>{request.method}</b> <Shown text={request.path} />
                {request.note !== undefined && <span class="tag">{request.note}</span>}
              </th>
              <td>
                <Result status={request.status} />
              </td>
              <td>
                {request.error_code === undefined ? (
                  <span class="dim">none</span>
                ) : (
                  <>
                    <code>{request.error_code}</code>
                    <p class="says">
                      <Shown text={request.error_message ?? ''} />
                    </p>
                  </>
                )}
              </td>
              <td>
                {request.mode === null ? (
                  <span class="dim">none</span>
                ) : (
                  `${request.mode} …${request.key_end ?? ''}`
                )}
              </td>
              <td class="age">
                <Age at={request.at} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  )
}
